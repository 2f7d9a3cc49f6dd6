#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "client/cli/commands.h"
#include "client/cli/demo/demo_options.h"
#include "client/cli/demo/links.h"
#include "client/cli/demo/report.h"
#include "client/cli/demo/trainer.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "proto/base/error.h"

enum { KEY_STAGE = 3000, KEY_LISTEN };

struct stage {
    struct demo_options options;
    unsigned number;
    const char *listen;
    struct links links;
    sw_pipeline *pipeline;
    struct trainer trainer;
};

static error_t parse(int key, char *word, struct argp_state *state) {
    struct stage *stage = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &stage->options;
        return 0;
    case KEY_STAGE:
        stage->number = (unsigned)options_number(state, "--stage", word, UINT32_MAX);
        return 0;
    case KEY_LISTEN:
        stage->listen = word;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option table[] = {
    {"stage", KEY_STAGE, "N", 0, "Which stage this is", 0},
    {"listen", KEY_LISTEN, "ENDPOINT", 0, "Where it serves", 0},
    {0},
};

static const struct argp argp = {
    .options = table,
    .parser = parse,
    .doc = "One stage of 'stagewire demo', which starts it.",
    .children = (const struct argp_child[]){{&demo_options_argp, 0, NULL, 0}, {0}},
};

static sw_status launcher_gone(sw_error *error) {
    return error_set_code(error, SW_ABORTED, SW_REASON_NONE, "the launcher is gone");
}

static sw_status tell(const struct report *report, sw_error *error) {
    return report_write(REPORT_DESCRIPTOR, report) ? SW_OK : launcher_gone(error);
}

static sw_status open_pipeline(struct stage *stage, char (*endpoints)[REPORT_ENDPOINT_MAX], sw_error *error) {
    sw_pipeline_options options;
    sw_pipeline_options_init(&options);
    options.run_id = LINKS_RUN_ID;
    options.generation = LINKS_GENERATION;
    options.stage = stage->number;
    options.stage_count = stage->options.stages;
    options.publisher = sw_endpoint_publisher(stage->links.endpoint);
    options.last_stage_endpoint = endpoints[stage->options.stages - 1];
    options.timeout_ms = LINKS_TIMEOUT_MS;
    options.endpoint_grace_ms = LINKS_GRACE_MS;
    return sw_pipeline_open(&options, &stage->pipeline, error);
}

static sw_status meet(struct stage *stage, sw_error *error) {
    char endpoints[NETWORK_STAGES_MAX][REPORT_ENDPOINT_MAX];
    struct links *links = &stage->links;
    sw_status status = links_serve(links, stage->number, stage->options.stages, stage->listen, error);
    if (status != SW_OK) return status;
    struct report serving = {.type = REPORT_SERVING};
    snprintf(serving.endpoint, sizeof serving.endpoint, "%s", sw_endpoint_address(links->endpoint, 0));
    status = tell(&serving, error);
    if (status == SW_OK) status = endpoints_read(STDIN_FILENO, stage->options.stages, endpoints, error);
    if (status == SW_OK) status = links_connect(links, endpoints, error);
    return status == SW_OK ? open_pipeline(stage, endpoints, error) : status;
}

static sw_status report_step(struct stage *stage, uint64_t step, sw_error *error) {
    struct report report = {.type = REPORT_STEP, .step = step, .traffic = links_traffic(&stage->links)};
    report.has_metrics = network_is_last(stage->trainer.net);
    if (report.has_metrics)
        report.metrics = network_metrics_mean(stage->trainer.metrics, stage->options.microbatches);
    return tell(&report, error);
}

static sw_status report_done(struct stage *stage, sw_error *error) {
    struct report report = {.type = REPORT_DONE,
                            .traffic = links_traffic(&stage->links),
                            .correct = stage->trainer.correct,
                            .images = stage->trainer.digits.evaluation.count};
    running_digest_text(stage->trainer.digest, report.digest);
    return tell(&report, error);
}

static sw_status train(struct stage *stage, sw_error *error) {
    struct trainer *trainer = &stage->trainer;
    sw_status status = trainer_create(trainer, &stage->options, &stage->links, stage->pipeline, error);
    if (status == SW_OK) status = share_settings(trainer, error);
    for (uint64_t step = 0; step < stage->options.steps && status == SW_OK; step++) {
        status = trainer_step(trainer, step, error);
        if (status == SW_OK) status = report_step(stage, step, error);
    }
    if (status == SW_OK) status = trainer_evaluate(trainer, error);
    if (status == SW_OK && network_is_last(trainer->net)) status = links_announce_end(&stage->links, error);
    if (status == SW_OK) status = links_await_end(&stage->links, error);
    return status == SW_OK ? report_done(stage, error) : status;
}

static void report_failure(const sw_error *error) {
    struct report report = {.type = REPORT_FAILED, .code = error->code, .reason = error->reason};
    memcpy(report.message, error->message, sizeof report.message);
    report_write(REPORT_DESCRIPTOR, &report);
}

enum cli_exit cmd_demo_stage(int argc, char **argv) {
    struct stage stage = {0};
    demo_options_init(&stage.options);
    argp_parse(&argp, argc, argv, 0, NULL, &stage);
    if (!stage.listen || stage.number >= stage.options.stages || fcntl(REPORT_DESCRIPTOR, F_GETFD) < 0)
        return messages_say(argv[0], EXIT_USAGE, "this is a part of 'stagewire demo', which starts it");
    fcntl(REPORT_DESCRIPTOR, F_SETFD, FD_CLOEXEC);

    sw_error error;
    sw_status status = meet(&stage, &error);
    if (status == SW_OK) status = train(&stage, &error);
    if (status != SW_OK) {
        links_abort(&stage.links, &error);
        report_failure(&error);
    }
    trainer_destroy(&stage.trainer);
    sw_pipeline_close(stage.pipeline);
    links_close(&stage.links, status == SW_OK);
    return exit_code_of(status);
}
