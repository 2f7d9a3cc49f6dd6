# The Debian packages: `cpack -G DEB` in the build folder, once all is built.
set(packages library libstagewire0 dev libstagewire-dev command stagewire daemon stagewired
    python python3-stagewire)

# ---- what Debian wants in each of them, and a plain install does not ----

compress(${CMAKE_CURRENT_SOURCE_DIR}/debian/changelog ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz)
set(documents ${packages})
while(documents)
    list(POP_FRONT documents component package)
    install(FILES debian/copyright ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz
            DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
    list(APPEND CPACK_COMPONENTS_ALL ${component})
endwhile()

# ---- how each of them presents itself ----

set(job "Large models train in pipeline stages, and only the last stage computes the
loss. stagewire hands loss metrics and tensors from the stage that owns them
to everyone who needs them: the owner publishes at its own gRPC endpoint and
goes on, the others pull by name, with a deadline.
.")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "loss metrics and tensors between pipeline stages (library)
${job}
This package has the shared library.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)

set(CPACK_DEBIAN_DEV_DESCRIPTION "loss metrics and tensors between pipeline stages (development)
${job}
This package has the headers, the archive, and what CMake and pkg-config read.")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libstagewire0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libgrpc-dev, libprotobuf-c-dev, libssl-dev, libxxhash-dev")

set(CPACK_DEBIAN_COMMAND_DESCRIPTION "loss metrics and tensors between pipeline stages (command)
${job}
This package has the command, which publishes, pulls and looks on, and a demo
that trains a small model in pipeline stages.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_DAEMON_DESCRIPTION "loss metrics and tensors between pipeline stages (endpoint)
${job}
This package has the endpoint as a program that stands beside a trainer.")
set(CPACK_DEBIAN_DAEMON_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DAEMON_PACKAGE_SHLIBDEPS ON)
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/systemd/stagewired.service)
    set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
    set(CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA
        "${CMAKE_CURRENT_SOURCE_DIR}/debian/postinst;${CMAKE_CURRENT_SOURCE_DIR}/debian/prerm")
endif()

set(CPACK_DEBIAN_PYTHON_DESCRIPTION "loss metrics and tensors between pipeline stages (Python)
${job}
This package has the Python package, with the operations that PyTorch trainers
know by name.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libstagewire0 (>= ${PROJECT_VERSION}), python3 (>= 3.9), python3:any")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-torch, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    "${CMAKE_CURRENT_SOURCE_DIR}/debian/python/postinst;${CMAKE_CURRENT_SOURCE_DIR}/debian/python/prerm")

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE stagewire)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PACKAGE_NAME stagewire)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "stagewire maintainers <maintainers@users.noreply.a-seed-db3fbdbf.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
