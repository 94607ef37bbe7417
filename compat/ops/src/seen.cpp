// The memory of a dataset that the program can see without a call: memory that it brought, raw pointers that it has
// not released, dat->data. Loops over such data run at once (docs/decisions/0006-ops-memory.md). If the data is in a
// store, the program sees a copy, which is copied back before such a loop and made again after it.
#include "ops_lib_core.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace {

namespace st = situ::stencil;

// Returns the component order of the copy: that which the program has in its own memory.
st::component_order order_of(ops_dat dat) {
  return dat->situ_layout.order == st::component_order::interleaved ? st::component_order::interleaved
                                                                    : st::component_order::separate;
}

}  // namespace

char* ops_dat_core::situ_look(void* dat) {
  auto* const self = static_cast<ops_dat_core*>(dat);
  if (self->core == nullptr) return nullptr;  // the dataset has been freed
  char* const at = self->block->instance->show(self);
  self->situ_is_seen = true;
  return at;
}

char* ops_reduction_core::situ_look(void* reduction) {
  auto* const self = static_cast<ops_reduction_core*>(reduction);
  self->instance->execute();
  if (self->core->is_fresh) std::fill(self->core->value.begin(), self->core->value.end(), std::byte{});
  return reinterpret_cast<char*>(self->core->value.data());
}

char* OPS_instance::show(ops_dat dat) {
  execute();
  if (std::find(seen_.begin(), seen_.end(), dat) == seen_.end()) {
    if (dat->core->in_file)
      dat->situ_copy.resize(static_cast<std::size_t>(dat->core->valid.points()) *
                            static_cast<std::size_t>(dat->elem_size));
    seen_.push_back(dat);
    end_access(dat);
  }
  return dat->core->in_file ? dat->situ_copy.data() : reinterpret_cast<char*>(dat->core->memory);
}

void OPS_instance::show_no_more(ops_dat dat) {
  std::erase(seen_, dat);
  dat->situ_copy = {};
}

void OPS_instance::begin_access(ops_dat dat) {
  execute();
  if (!dat->situ_copy.empty()) context_->store(*dat->core, dat->core->valid, order_of(dat), dat->situ_copy.data());
}

void OPS_instance::end_access(ops_dat dat) {
  if (!dat->situ_copy.empty()) context_->fetch(*dat->core, dat->core->valid, order_of(dat), dat->situ_copy.data());
}

void OPS_instance::fetch(ops_dat dat, const st::box& what, void* to) {
  begin_access(dat);
  context_->fetch(*dat->core, what, st::component_order::interleaved, to);
}

void OPS_instance::store(ops_dat dat, const st::box& what, const void* from) {
  begin_access(dat);
  dat->reduced_by = -1;
  context_->store(*dat->core, what, st::component_order::interleaved, from);
  end_access(dat);
}

void OPS_instance::enqueue(std::unique_ptr<st::loop> l) {
  std::vector<ops_dat> touched;
  for (const ops_dat dat : seen_) {
    for (const auto& a : l->arguments()) {
      if (a.data != dat->core) continue;
      touched.push_back(dat);
      break;
    }
  }
  if (touched.empty() && !at_once_) return context_->enqueue(std::move(l));
  for (const ops_dat dat : touched) begin_access(dat);
  context_->enqueue(std::move(l));
  context_->execute();
  for (const ops_dat dat : touched) end_access(dat);
}
