#include <stagewire/publisher.h>

sw_status sw_publish_metrics(sw_publisher *publisher, const sw_address *address, const sw_value *metrics,
                             int64_t timeout_ms, bool *ret_duplicate, sw_error *error) {
    return publisher->ops->publish_metrics(publisher, address, metrics, timeout_ms, ret_duplicate, error);
}

sw_status sw_publish_tensors(sw_publisher *publisher, const sw_address *address,
                             const sw_named_tensor *tensors, size_t count, int64_t timeout_ms,
                             bool *ret_duplicate, sw_error *error) {
    return publisher->ops->publish_tensors(publisher, address, tensors, count, timeout_ms, ret_duplicate,
                                           error);
}

sw_status sw_publish_failure(sw_publisher *publisher, const sw_address *address, sw_item_kind kind,
                             const char *message, int64_t timeout_ms, bool *ret_duplicate, sw_error *error) {
    return publisher->ops->publish_failure(publisher, address, kind, message, timeout_ms, ret_duplicate,
                                           error);
}

sw_status sw_close_channel(sw_publisher *publisher, const sw_address *address, sw_item_kind kind, bool all,
                           sw_close_reason reason, const char *message, int64_t timeout_ms, sw_error *error) {
    return publisher->ops->close_channel(publisher, address, kind, all, reason, message, timeout_ms, error);
}

sw_status sw_attach(sw_publisher *publisher, const sw_attachment *attachment, int64_t timeout_ms,
                    sw_lease **ret_lease, uint64_t *ret_generation, sw_error *error) {
    return publisher->ops->attach(publisher, attachment, timeout_ms, ret_lease, ret_generation, error);
}

void sw_lease_release(sw_lease *lease) {
    if (lease) lease->ops->release(lease);
}

sw_status sw_lease_check(sw_lease *lease, sw_error *error) {
    return lease->ops->check(lease, error);
}
