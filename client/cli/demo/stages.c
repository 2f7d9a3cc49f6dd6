#include "client/cli/demo/stages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/messages.h"
#include "proto/base/error.h"

static sw_status start(struct process *process, const struct demo_options *options, unsigned number,
                       const struct workspace *workspace, sw_error *error) {
    char stage[32], listen[WORKSPACE_PATH_MAX + 48];
    snprintf(stage, sizeof stage, "--stage=%u", number);
    if (options->transport == DEMO_UNIX)
        snprintf(listen, sizeof listen, "--listen=unix:%s/stage-%u.sock", workspace->path, number);
    else
        snprintf(listen, sizeof listen, "--listen=127.0.0.1:0");
    struct demo_words words;
    char *arguments[DEMO_ARGUMENTS_MAX + 5] = {"stagewire", "demo-stage", stage, listen};
    demo_options_arguments(options, &words, arguments + 4);
    return process_start(process, arguments, error);
}

sw_status stages_start(struct stages *stages, const struct demo_options *options,
                       const struct workspace *workspace, sw_error *error) {
    memset(stages, 0, sizeof *stages);
    stages->count = options->stages;
    for (unsigned i = 0; i < stages->count; i++)
        stages->stage[i].process.control = stages->stage[i].process.report = -1;
    sw_status status = SW_OK;
    for (unsigned i = 0; i < stages->count && status == SW_OK; i++)
        status = start(&stages->stage[i].process, options, i, workspace, error);
    return status;
}

/* A stage that is gone by now is noticed at its end. */
static void introduce(struct stages *stages) {
    const char *endpoints[NETWORK_STAGES_MAX];
    for (unsigned i = 0; i < stages->count; i++) {
        if (!stages->stage[i].serves) return;
        endpoints[i] = stages->stage[i].endpoint;
    }
    for (unsigned i = 0; i < stages->count; i++)
        endpoints_write(stages->stage[i].process.control, endpoints, stages->count);
    stages->introduced = true;
}

static void take_failure(struct stages *stages, struct stage_process *stage, const struct report *report) {
    error_set_code(&stage->failure, report->code, report->reason, "%s", report->message);
    stage->failed = true;
    if (stages->first_failure == SW_OK) stages->first_failure = report->code;
}

static sw_status take_line(struct stages *stages, unsigned number, struct board *board, const char *line,
                           size_t size, sw_error *error) {
    struct stage_process *stage = &stages->stage[number];
    struct report report;
    sw_status status = report_read(line, size, &report, error);
    if (status != SW_OK) return status;
    switch (report.type) {
    case REPORT_SERVING:
        memcpy(stage->endpoint, report.endpoint, sizeof stage->endpoint);
        stage->serves = true;
        if (!stages->introduced) introduce(stages);
        break;
    case REPORT_STEP:
    case REPORT_DONE:
        board_take(board, number, &report);
        break;
    case REPORT_FAILED:
        take_failure(stages, stage, &report);
        break;
    }
    return SW_OK;
}

static sw_status take_lines(struct stages *stages, unsigned number, struct board *board, sw_error *error) {
    struct stage_process *stage = &stages->stage[number];
    char *line = stage->line, *end = line + stage->unread, *newline;
    sw_status status = SW_OK;
    while (status == SW_OK && (newline = memchr(line, '\n', (size_t)(end - line)))) {
        status = take_line(stages, number, board, line, (size_t)(newline - line), error);
        line = newline + 1;
    }
    stage->unread = (size_t)(end - line);
    memmove(stage->line, line, stage->unread);
    if (status == SW_OK && stage->unread == sizeof stage->line)
        status =
            error_set_code(error, SW_INTERNAL, SW_REASON_NONE, "stage %u: a report without an end", number);
    return status;
}

sw_status stages_read(struct stages *stages, unsigned number, struct board *board, sw_error *error) {
    struct stage_process *stage = &stages->stage[number];
    for (;;) {
        ssize_t got =
            read(stage->process.report, stage->line + stage->unread, sizeof stage->line - stage->unread);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return SW_OK;
        if (got <= 0) {
            close(stage->process.report);
            stage->process.report = -1;
            return SW_OK;
        }
        stage->unread += (size_t)got;
        sw_status status = take_lines(stages, number, board, error);
        if (status != SW_OK) return status;
    }
}

bool stages_all_over(struct stages *stages) {
    bool over = true;
    for (unsigned i = 0; i < stages->count; i++) {
        struct process *process = &stages->stage[i].process;
        if (process->started && (!process_over(process) || process->report >= 0)) over = false;
    }
    return over;
}

bool stages_any_failed(struct stages *stages) {
    for (unsigned i = 0; i < stages->count; i++) {
        struct process *process = &stages->stage[i].process;
        if (stages->stage[i].failed || (process_over(process) && !process_succeeded(process))) return true;
    }
    return false;
}

void stages_signal(struct stages *stages, int signal) {
    for (unsigned i = 0; i < stages->count; i++) process_signal(&stages->stage[i].process, signal);
}

void stages_close(struct stages *stages) {
    for (unsigned i = 0; i < stages->count; i++) process_close(&stages->stage[i].process);
}

static void say_how_it_ended(const char *who, unsigned number, int ended_as) {
    if (WIFSIGNALED(ended_as))
        messages_say(who, EXIT_INTERNAL, "stage %u: killed by signal %d (%s)", number, WTERMSIG(ended_as),
                     strsignal(WTERMSIG(ended_as)));
    else
        messages_say(who, EXIT_INTERNAL, "stage %u: ended with status %d and did not say why", number,
                     WEXITSTATUS(ended_as));
}

enum cli_exit stages_explain(const struct stages *stages, const char *who) {
    for (unsigned i = 0; i < stages->count; i++) {
        const struct stage_process *stage = &stages->stage[i];
        char name[64];
        snprintf(name, sizeof name, "%s: stage %u", who, i);
        if (stage->failed)
            messages_error(name, &stage->failure);
        else if (stage->process.started && !process_succeeded(&stage->process))
            say_how_it_ended(who, i, stage->process.ended_as);
    }
    return stages->first_failure == SW_OK ? EXIT_INTERNAL : exit_code_of(stages->first_failure);
}
