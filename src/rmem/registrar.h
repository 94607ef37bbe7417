// Keeps a server's name at the name server: a thread links the name, and links it again each second, so that it is also
// there after a restart of the name server.
#pragma once

#include <situ/rmem/client.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "os/worker.h"

namespace situ::rmem::detail {

// Keeps the name linked while it lives; its destructor unlinks the name.
class registrar {
 public:
  registrar(std::string names, application_key key, std::string name, std::string endpoint);
  ~registrar();
  registrar(const registrar&) = delete;
  registrar& operator=(const registrar&) = delete;

 private:
  void keep(const std::stop_token& stop);
  void link_once();

  std::string names_;
  application_key key_;
  std::string name_;
  std::string endpoint_;
  std::optional<client> client_;
  bool is_linked_ = false;
  bool has_complained_ = false;
  std::mutex lock_;
  std::condition_variable_any ends_;
  os::worker thread_;  // the last member, so that it ends before the members that it uses
};

}  // namespace situ::rmem::detail
