// Blocks, datasets, stencils, halos and constants to and from HDF5 files, as OPS stores them: a block is a group that
// contains its datasets (ghost points included); attributes hold the other properties. Situ reads files of OPS, and
// OPS reads files of Situ. A file is created if it does not exist; an object of the same name is overwritten if it has
// the same extents. Out of core, data is copied slab by slab. Errors throw situ::error (bad_file).
#pragma once

#include "ops_lib_core.h"

#include <utility>

// The precision of floating-point numbers in the file.
enum class REAL_PRECISION { Half = 16, Single = 32, Double = 64, Undefined = 0 };

void ops_fetch_block_hdf5_file(ops_block block, char const* file_name);
void ops_fetch_dat_hdf5_file(ops_dat dat, char const* file_name);  // its block must be in the file
void ops_fetch_stencil_hdf5_file(ops_stencil stencil, char const* file_name);
void ops_fetch_halo_hdf5_file(ops_halo halo, char const* file_name);
void ops_dump_to_hdf5(char const* file_name);  // all blocks, datasets, stencils and halos

ops_block ops_decl_block_hdf5(int dims, const char* block_name, char const* file_name);
ops_dat ops_decl_dat_hdf5(ops_block block, int dat_size, char const* type, char const* dat_name, char const* file_name);
ops_stencil ops_decl_stencil_hdf5(int dims, int points, const char* stencil_name, char const* file_name);
ops_stencil ops_decl_strided_stencil_hdf5(int dims, int points, const char* stencil_name, char const* file_name);
ops_halo ops_decl_halo_hdf5(ops_dat from, ops_dat to, char const* file_name);
void ops_read_dat_hdf5(ops_dat dat);  // once more, from the file it was declared from

void ops_write_const_hdf5(char const* name, int dim, char const* type, char* const_data, char const* file_name);
void ops_get_const_hdf5(char const* name, int dim, char const* type, char* const_data, char const* file_name);

// Writes a part of a dataset, without attributes, under a name that may contain groups ("block/step/name").
void ops_write_data_slab_hdf5(const ops_dat dat, const int* range, const char* file_name, const char* data_name);
void ops_write_data_slab_hdf5(const ops_dat dat, const int* range, const char* file_name, const char* data_name,
                              REAL_PRECISION real_precision);
// Writes the plane with index `pos` in direction 0, 1 or 2; the file's dataset has one dimension less.
void ops_write_plane_hdf5(const ops_dat dat, const int cross_section_dir, const int pos, char const* file_name,
                          const char* data_name);
void ops_write_plane_hdf5(const ops_dat dat, const int cross_section_dir, const int pos, char const* file_name,
                          const char* data_name, REAL_PRECISION real_precision);
// Writes each plane (direction, index) to a file of its own, named in plane_names or I<pos>.h5, J<pos>.h5, K<pos>.h5,
// with the datasets as block/key/name.
void ops_write_plane_group_hdf5(const std::vector<std::pair<int, int>>& planes, const std::string& key,
                                const std::vector<std::vector<ops_dat>>& data_list);
void ops_write_plane_group_hdf5(const std::vector<std::pair<int, int>>& planes, std::vector<std::string>& plane_names,
                                const std::string& key, const std::vector<std::vector<ops_dat>>& data_list);
void ops_write_plane_group_hdf5(const std::vector<std::pair<int, int>>& planes, const std::string& key,
                                const std::vector<std::vector<ops_dat>>& data_list, REAL_PRECISION real_precision);
void ops_write_plane_group_hdf5(const std::vector<std::pair<int, int>>& planes, std::vector<std::string>& plane_names,
                                const std::string& key, const std::vector<std::vector<ops_dat>>& data_list,
                                REAL_PRECISION real_precision);
