# The pure half of the demo, a room of its own: what it learns from, and how.
set(model ${CMAKE_CURRENT_LIST_DIR})
set(embed ${PROJECT_SOURCE_DIR}/proto/embed.cmake)
set(digits ${PROJECT_SOURCE_DIR}/client/examples/data/digits.csv.gz)
set(embedded ${CMAKE_CURRENT_BINARY_DIR}/embedded_digits.c)
add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -D INPUT=${digits} -D OUTPUT=${embedded} -D NAME=embedded_digits
            -D HEADER=client/cli/demo/model/embedded.h -P ${embed}
    DEPENDS ${digits} ${embed}
    VERBATIM)

stagewire_room(demo_model FOLDERS ${model} PUBLIC base m PRIVATE PkgConfig::zlib)
target_sources(demo_model PRIVATE ${embedded})

# Contracted or reassociated sums would differ from build to build. The loops
# are vectorised in debug builds too, where they would take half a minute.
set_source_files_properties(${model}/dense.c ${model}/loss.c PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off")
