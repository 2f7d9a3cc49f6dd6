"""What of the C headers this package uses, as ctypes sees it. The headers say what it means.

`tests/python/test_abi.py` compares every size, offset and number here with what a C compiler makes of them.
"""

from __future__ import annotations

import ctypes
from ctypes import (CFUNCTYPE, POINTER, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint16, c_uint32,
                    c_uint64, c_void_p)

# ---- stagewire/status.h ----

STATUSES = ("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
            "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
            "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED")


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("reason", c_int), ("details_size", c_uint16), ("message", ctypes.c_char * 1024),
                ("details", ctypes.c_char * 2560)]


# ---- stagewire/tensor.h, stagewire/value.h ----

# name: (number, bytes an element)
DTYPES = {
    "BOOL": (1, 1), "U8": (2, 1), "I8": (3, 1), "U16": (4, 2), "I16": (5, 2), "U32": (6, 4), "I32": (7, 4),
    "U64": (8, 8), "I64": (9, 8), "F16": (10, 2), "BF16": (11, 2), "F32": (12, 4), "F64": (13, 8), "C64": (14, 8),
    "C128": (15, 16), "F8_E4M3FN": (16, 1), "F8_E5M2": (17, 1), "F8_E4M3FNUZ": (18, 1), "F8_E5M2FNUZ": (19, 1),
    "F8_E8M0FNU": (20, 1), "F4_E2M1FN_X2": (21, 1),
}

(NULL, BOOL, INTEGER, NUMBER, TEXT, BLOB, TENSOR, LIST, TUPLE, DICT, EXTENSION) = range(11)

DEPTH_MAX = 16


class TensorView(ctypes.Structure):
    _fields_ = [("dtype", c_int), ("rank", c_uint32), ("shape", POINTER(c_int64)), ("data", c_void_p),
                ("size", c_size_t)]


class NamedTensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("view", TensorView), ("buffer", c_void_p)]


class Bytes(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Items(ctypes.Structure):
    """struct sw_value_list, and sw_value_dict with entries for items."""
    _fields_ = [("items", c_void_p), ("count", c_size_t)]


class Extension(ctypes.Structure):
    _fields_ = [("type", Bytes), ("value", c_void_p)]


class _Union(ctypes.Union):
    _fields_ = [("boolean", c_bool), ("integer", c_int64), ("number", c_double), ("bytes", Bytes),
                ("tensor", TensorView), ("list", Items), ("dict", Items), ("extension", Extension)]


class Value(ctypes.Structure):
    _anonymous_ = ["of"]
    _fields_ = [("kind", c_int), ("of", _Union)]


class Entry(ctypes.Structure):
    _fields_ = [("key", Bytes), ("value", Value)]


# ---- stagewire/address.h, stagewire/publisher.h ----

KINDS = {"metrics": 1, "tensors": 2, "object": 3}
CLOSE_REASONS = {"finished": 1, "aborted": 2, "publisher_lost": 3, "superseded": 4}


class Address(ctypes.Structure):
    _fields_ = [("run_id", c_char_p), ("generation", c_uint64), ("has_stage", c_bool), ("stage", c_uint32),
                ("group", c_uint32), ("channel", c_char_p), ("step", c_uint64), ("call", c_uint32)]


class ChannelPolicy(ctypes.Structure):
    _fields_ = [("channel", c_char_p), ("kind", c_int), ("keep_steps", c_uint32), ("consumers", POINTER(c_char_p)),
                ("consumer_count", c_uint32), ("max_lag_steps", c_uint32), ("next_step", c_uint64)]


class Attachment(ctypes.Structure):
    _fields_ = [("run_id", c_char_p), ("generation", c_uint64), ("stage", c_uint32), ("stage_count", c_uint32),
                ("group", c_uint32), ("policies", POINTER(ChannelPolicy)), ("policy_count", c_uint32)]


# ---- stagewire/endpoint.h ----


class EndpointOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("listen", POINTER(c_char_p)), ("listen_count", c_uint32),
        ("publish_on_loopback", c_bool), ("insecure_plaintext", c_bool), ("reflection", c_bool),
        ("health_listen", c_char_p), ("run_id", c_char_p), ("generation", c_uint64), ("stage", c_uint32),
        ("stage_count", c_uint32), ("store_bytes", c_uint64), ("metrics_bytes", c_uint64), ("pinned_bytes", c_uint64),
        ("keep_steps", c_uint32), ("keep_tensor_steps", c_uint32), ("max_lag_steps", c_uint32),
        ("publisher_grace_ms", c_int64), ("drain_grace_ms", c_int64), ("max_wait_ms", c_int64), ("pin_ms", c_int64),
        ("max_waiters", c_uint32), ("max_watches", c_uint32), ("max_channels", c_uint32), ("max_consumers", c_uint32),
        ("max_leases", c_uint32), ("max_publishes", c_uint32), ("max_calls", c_uint32), ("max_streams", c_uint32),
        ("header_bytes", c_uint64), ("transport_bytes", c_uint64), ("handshake_timeout_ms", c_int64),
        ("max_connection_age_ms", c_int64), ("connection_age_grace_ms", c_int64), ("max_connection_idle_ms", c_int64),
        ("tls_key", c_char_p), ("tls_cert", c_char_p), ("tls_ca", c_char_p), ("tls_crl", c_char_p),
        ("access", c_char_p),
    ]


# ---- stagewire/client.h ----


class ClientOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("run_id", c_char_p), ("consumer_id", c_char_p), ("timeout_ms", c_int64),
                ("endpoint_grace_ms", c_int64), ("tls_key", c_char_p), ("tls_cert", c_char_p), ("tls_ca", c_char_p),
                ("tls_crl", c_char_p), ("peer_identity", c_char_p), ("connections", c_uint32)]


class Pull(ctypes.Structure):
    _fields_ = [("address", Address), ("latest", c_bool), ("no_wait", c_bool), ("timeout_ms", c_int64),
                ("keep", c_bool)]


class TensorRequest(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("into", c_void_p), ("into_size", c_size_t)]


class Exchange(ctypes.Structure):
    _fields_ = [("address", Address), ("stage_count", c_uint32), ("value", c_void_p), ("no_wait", c_bool),
                ("timeout_ms", c_int64)]


class ChannelInfo(ctypes.Structure):
    _fields_ = [("oldest", Address), ("latest", Address), ("has_items", c_bool), ("kind", c_int), ("items", c_uint64),
                ("held_bytes", c_uint64), ("consumers", POINTER(c_char_p)), ("released_below", POINTER(c_uint64)),
                ("consumer_count", c_uint32), ("is_closed", c_bool), ("closed_reason", c_int),
                ("closed_message", c_char_p)]


class LeaseInfo(ctypes.Structure):
    _fields_ = [("stage", c_uint32), ("group", c_uint32), ("stage_count", c_uint32), ("lost", c_bool)]


class SecurityInfo(ctypes.Structure):
    _fields_ = [("tls", c_bool), ("insecure_plaintext", c_bool), ("name", c_char_p), ("issuer", c_char_p),
                ("sha256", c_char_p), ("not_after_unix_s", c_int64), ("taken_unix_s", c_int64), ("taken", c_uint64),
                ("failed", c_uint64), ("failed_unix_s", c_int64), ("error", c_char_p)]


class HandOverInfo(ctypes.Structure):
    _fields_ = [("is_open", c_bool), ("is_reached", c_bool), ("connections", c_uint64), ("waiting", c_uint64),
                ("tensors_in", c_uint64), ("bytes_in", c_uint64), ("tensors_out", c_uint64), ("bytes_out", c_uint64)]


class Info(ctypes.Structure):
    _fields_ = [("run_id", c_char_p), ("generation", c_uint64), ("version", c_char_p),
                ("features", POINTER(c_char_p)), ("feature_count", c_uint32), ("leases", POINTER(LeaseInfo)),
                ("lease_count", c_uint32), ("channels", POINTER(ChannelInfo)), ("channel_count", c_uint32),
                ("incarnation", c_uint64), ("held_bytes", c_uint64), ("store_bytes", c_uint64),
                ("metrics_held_bytes", c_uint64), ("metrics_bytes", c_uint64), ("pinned_bytes", c_uint64),
                ("open_calls", c_uint64), ("waiting", c_uint64), ("watches", c_uint64), ("streams", c_uint64),
                ("open_publishes", c_uint64), ("caller", c_char_p), ("rights", POINTER(c_char_p)),
                ("consumer_ids", POINTER(c_char_p)), ("right_count", c_uint32), ("consumer_id_count", c_uint32),
                ("warnings", POINTER(c_char_p)), ("warning_count", c_uint32), ("security", SecurityInfo),
                ("hand_over", HandOverInfo)]


class WatchFilter(ctypes.Structure):
    _fields_ = [("channel", c_char_p), ("has_stage", c_bool), ("has_group", c_bool), ("stage", c_uint32),
                ("group", c_uint32)]


WATCH_STARTS = {"new": 1, "oldest": 2, "positions": 3}
EVENT_TYPES = {"published": 1, "failed": 2, "gap": 3, "closed": 4, "generation": 5}


class WatchEvent(ctypes.Structure):
    _fields_ = [("type", c_int), ("address", Address), ("metrics", c_void_p), ("published_unix_ns", c_int64),
                ("message", c_char_p), ("has_next", c_bool), ("next", Address), ("has_last", c_bool),
                ("reason", c_int), ("generation", c_uint64)]


# ---- stagewire/pipeline.h ----


class PipelineOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("run_id", c_char_p), ("generation", c_uint64), ("group", c_uint32),
                ("stage", c_uint32), ("stage_count", c_uint32), ("publisher", c_void_p),
                ("last_stage_endpoint", c_char_p), ("timeout_ms", c_int64), ("endpoint_grace_ms", c_int64),
                ("max_lag_steps", c_uint32), ("tls_key", c_char_p), ("tls_cert", c_char_p), ("tls_ca", c_char_p),
                ("tls_crl", c_char_p), ("peer_identity", c_char_p)]


# ---- functions: result, then arguments. An sw_error is always the last argument ----

Release = CFUNCTYPE(None, c_void_p)
IsInterrupted = CFUNCTYPE(c_bool, c_void_p)

_handle = c_void_p
_made = POINTER(c_void_p)
_error = POINTER(Error)
_address = POINTER(Address)
_pull = POINTER(Pull)
_requests = POINTER(TensorRequest)
_value = c_void_p

FUNCTIONS = {
    "sw_version": (c_char_p,),
    "sw_status_name": (c_char_p, c_int),
    "sw_reason_name": (c_char_p, c_int),
    "sw_reason_from_name": (c_int, c_char_p),
    "sw_error_metadata": (c_char_p, _error, c_char_p),
    "sw_interrupt_set": (None, IsInterrupted, c_void_p),
    # buffers
    "sw_buffer_wrap": (c_int, c_void_p, c_size_t, Release, c_void_p, _made, _error),
    "sw_buffer_create": (c_int, c_size_t, _made, _made, _error),
    "sw_buffer_unref": (None, _handle),
    "sw_buffer_data": (c_void_p, _handle),
    "sw_buffer_size": (c_size_t, _handle),
    # publishing
    "sw_publish_metrics": (c_int, _handle, _address, _value, c_int64, POINTER(c_bool), _error),
    "sw_publish_tensors": (c_int, _handle, _address, POINTER(NamedTensor), c_size_t, c_int64, POINTER(c_bool),
                           _error),
    "sw_publish_failure": (c_int, _handle, _address, c_int, c_char_p, c_int64, POINTER(c_bool), _error),
    "sw_close_channel": (c_int, _handle, _address, c_int, c_bool, c_int, c_char_p, c_int64, _error),
    "sw_attach": (c_int, _handle, POINTER(Attachment), c_int64, _made, POINTER(c_uint64), _error),
    "sw_lease_release": (None, _handle),
    "sw_lease_check": (c_int, _handle, _error),
    # an endpoint in the process
    "sw_endpoint_options_init_sized": (None, POINTER(EndpointOptions), c_size_t),
    "sw_endpoint_open": (c_int, POINTER(EndpointOptions), _made, _error),
    "sw_endpoint_publisher": (c_void_p, _handle),
    "sw_endpoint_address": (c_char_p, _handle, c_uint32),
    "sw_endpoint_drain": (None, _handle),
    "sw_endpoint_wait_drained": (c_int, _handle, c_int64, _error),
    "sw_endpoint_close": (None, _handle, c_int64),
    # pulling
    "sw_client_options_init_sized": (None, POINTER(ClientOptions), c_size_t),
    "sw_client_open": (c_int, c_char_p, POINTER(ClientOptions), _made, _error),
    "sw_client_close": (None, _handle),
    "sw_client_publisher": (c_void_p, _handle),
    "sw_client_get_metrics": (c_int, _handle, _pull, _made, _error),
    "sw_client_get_tensors": (c_int, _handle, _pull, _requests, c_uint32, _made, _error),
    "sw_client_get_manifest": (c_int, _handle, _pull, _made, _error),
    "sw_client_exchange": (c_int, _handle, POINTER(Exchange), _made, _error),
    "sw_client_release": (c_int, _handle, _address, c_int, c_uint64, c_int64, _error),
    "sw_client_info": (c_int, _handle, c_int64, POINTER(POINTER(Info)), _error),
    "sw_info_destroy": (None, POINTER(Info)),
    "sw_metrics_address": (_address, _handle),
    "sw_metrics_value": (_value, _handle),
    "sw_metrics_published_unix_ns": (c_int64, _handle),
    "sw_metrics_destroy": (None, _handle),
    "sw_tensors_address": (_address, _handle),
    "sw_tensors_count": (c_uint32, _handle),
    "sw_tensors_name": (c_char_p, _handle, c_uint32),
    "sw_tensors_view": (POINTER(TensorView), _handle, c_uint32),
    "sw_tensors_buffer": (c_void_p, _handle, c_uint32),
    "sw_tensors_published_unix_ns": (c_int64, _handle),
    "sw_tensors_destroy": (None, _handle),
    "sw_object_owner_count": (c_uint32, _handle),
    "sw_object_owner": (c_uint32, _handle, c_uint32),
    "sw_object_value": (_value, _handle),
    "sw_object_destroy": (None, _handle),
    # the same without blocking
    "sw_client_start_metrics": (c_int, _handle, _pull, _made, _error),
    "sw_client_start_tensors": (c_int, _handle, _pull, _requests, c_uint32, _made, _error),
    "sw_client_start_exchange": (c_int, _handle, POINTER(Exchange), _made, _error),
    "sw_call_fd": (c_int, _handle),
    "sw_call_cancel": (None, _handle),
    "sw_call_finish_metrics": (c_int, _handle, _made, _error),
    "sw_call_finish_tensors": (c_int, _handle, _made, _error),
    "sw_call_finish_object": (c_int, _handle, _made, _error),
    "sw_call_destroy": (None, _handle),
    # watching
    "sw_client_watch": (c_int, _handle, POINTER(WatchFilter), c_uint32, c_int, _address, c_uint32, c_int64, _made,
                        _error),
    "sw_watch_next": (c_int, _handle, c_int64, POINTER(WatchEvent), _error),
    "sw_watch_fd": (c_int, _handle),
    "sw_watch_close": (None, _handle),
    # the four operations
    "sw_pipeline_options_init_sized": (None, POINTER(PipelineOptions), c_size_t),
    "sw_pipeline_open": (c_int, POINTER(PipelineOptions), _made, _error),
    "sw_pipeline_close": (None, _handle),
    "sw_pipeline_step_begin": (c_int, _handle, c_uint64, c_char_p, _error),
    "sw_pipeline_step_end": (c_int, _handle, c_char_p, _error),
    "sw_pipeline_call_failed": (c_int, _handle, c_int, c_char_p, _error),
    "sw_pipeline_broadcast_obj_from_pp_rank": (c_int, _handle, _value, _made, _error),
    "sw_pipeline_broadcast_loss_metrics_from_last_stage": (c_int, _handle, _value, _made, _error),
    "sw_pipeline_broadcast_tensors_from_last_stage": (c_int, _handle, POINTER(NamedTensor), _requests, c_uint32,
                                                      _made, _error),
    "sw_pipeline_generation": (c_uint64, _handle),
}
