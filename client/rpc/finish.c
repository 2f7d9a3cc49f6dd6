#include "client/rpc/finish.h"

#include "proto/base/error.h"

sw_status finish_start(sw_call *call, sw_call **ret_call, sw_error *error) {
    sw_status status = call_start(call, error);
    if (status == SW_OK)
        *ret_call = call;
    else
        sw_call_destroy(call);
    return status;
}

sw_status finish_call(sw_call *call, const struct call_ops *ops, const char *what, sw_error *error) {
    if (call->ops != ops)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "the call is %s and brings no %s; finish it with the function of its own kind",
                              call->ops->method, what);
    if (call->is_taken)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "the call was finished before, and its result handed out then");
    sw_status status = call_wait(call, error);
    call->is_taken = status == SW_OK;
    return status;
}
