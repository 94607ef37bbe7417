# Run by `cmake -D FOLDER=... -P`: writes the file all.cpp into the folder, which includes its other C++ files.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.cpp)
list(SORT files)
set(text)
foreach(file ${files})
  string(APPEND text "#include \"${file}\"\n")
endforeach()
file(WRITE ${FOLDER}/all.cpp "${text}")
