# Builds for arm64 on another machine, with Debian's gcc-aarch64-linux-gnu and the folder that make-sysroot filled:
#   cmake -B build/arm64 --toolchain deploy/arm64/toolchain.cmake -DSTAGEWIRE_SYSROOT=FOLDER
# With qemu-user the tests run, too.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES STAGEWIRE_SYSROOT)

set(machine aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${machine}-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE ${machine})
set(CMAKE_SYSROOT ${STAGEWIRE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${STAGEWIRE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${STAGEWIRE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${STAGEWIRE_SYSROOT}/usr/lib/${machine}/pkgconfig:${STAGEWIRE_SYSROOT}/usr/share/pkgconfig)

find_program(QEMU_AARCH64 qemu-aarch64)
if(QEMU_AARCH64)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64} -L ${STAGEWIRE_SYSROOT})
endif()
