# cmake -D INPUT=file -D OUTPUT=file.c -D NAME=embedded_x -D HEADER=path/x.h -P embed.cmake
# Writes a file's bytes as the C array NAME, and its size as NAME_size, which HEADER declares.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

const unsigned char ${NAME}[] = {
${bytes}
};
const size_t ${NAME}_size = sizeof ${NAME};
")
