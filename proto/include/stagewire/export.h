/* SW_API marks what the shared library exports; everything else is hidden. */
#ifndef STAGEWIRE_EXPORT_H
#define STAGEWIRE_EXPORT_H

#if defined(__GNUC__)
#define SW_API __attribute__((visibility("default")))
#else
#define SW_API
#endif

#endif
