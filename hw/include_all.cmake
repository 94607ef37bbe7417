# Run by `cmake -D FOLDER=... -P`: writes a C++ file into the folder, which includes the others.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.cpp)
list(SORT files)
set(text)
foreach(file ${files})
  string(APPEND text "#include \"${file}\"\n")
endforeach()
file(WRITE ${FOLDER}/all.cpp "${text}")
