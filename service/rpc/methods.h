/* Every method that is served, one file each. */
#ifndef STAGEWIRE_SERVICE_METHODS_H
#define STAGEWIRE_SERVICE_METHODS_H

#include <stddef.h>

struct method;

extern const struct method get_loss_metrics, stream_tensors, watch_loss_metrics, release_steps,
    exchange_object, attach_trainer, get_stage_info;
extern const struct method publish_loss_metrics, publish_tensors, publish_failure, close_channel;
extern const struct method health_check, health_list, health_watch;
extern const struct method server_reflection, server_reflection_v1alpha;

#define METHOD_COUNT 16
extern const struct method *const methods[METHOD_COUNT];
size_t method_index(const struct method *method);

#define STAGE_SERVICE              "/stagewire.v1.StageService/"
#define PUBLISHER_SERVICE          "/stagewire.v1.PublisherService/"
#define HEALTH_SERVICE             "/grpc.health.v1.Health/"
#define REFLECTION_SERVICE         "/grpc.reflection.v1.ServerReflection/"
#define REFLECTION_V1ALPHA_SERVICE "/grpc.reflection.v1alpha.ServerReflection/"

#endif
