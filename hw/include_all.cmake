# cmake -D FOLDER=... -P include_all.cmake: writes one file into that folder that includes its other C++ files.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.cpp)
list(SORT files)
set(text)
foreach(file ${files})
  string(APPEND text "#include \"${file}\"\n")
endforeach()
file(WRITE ${FOLDER}/all.cpp "${text}")
