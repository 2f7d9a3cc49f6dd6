/* The demo's channels. What goes by sw_pipeline_* names its own with each step. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_CHANNELS_H
#define STAGEWIRE_CLIENT_CLI_DEMO_CHANNELS_H

#define CHANNEL_ACTIVATIONS "activations" /* tensors: step, call = microbatch */
#define CHANNEL_GRADIENTS   "gradients"   /* the same, the other way */
#define CHANNEL_EVALUATION  "evaluation"  /* tensors: activations of the images held out */
#define CHANNEL_TRAIN       "train"       /* pipeline: loss metrics and log-probabilities of each step */
#define CHANNEL_HELD_OUT    "held-out"    /* pipeline: the accuracy at the end */
#define CHANNEL_END         "end"         /* metrics: the last stage is done */

#endif
