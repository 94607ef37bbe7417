// Boost.Serialization as a subject of `situ bench graph`: saved to memory and loaded from it. It follows pointers by
// recursion, so all of it runs on a large stack; giving the copies back is not timed.
#include "../graph/forms.h"
#include "../graph/large_stack.h"

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/array.hpp>
#include <boost/serialization/split_free.hpp>
#include <boost/serialization/tracking.hpp>
#include <boost/serialization/vector.hpp>

#include <memory>
#include <streambuf>
#include <unordered_set>

namespace boost::serialization {
template <class Archive>
void serialize(Archive& archive, graph_bench::list_node& n, unsigned) {
  archive & n.next & n.previous & n.value;
}
template <class Archive>
void serialize(Archive& archive, graph_bench::leaf& n, unsigned) {
  archive & n.value;
}
template <class Archive>
void serialize(Archive& archive, graph_bench::tree_node& n, unsigned) {
  archive & n.left & n.right & n.value;
}
template <class Archive>
void serialize(Archive& archive, graph_bench::web_node& n, unsigned) {
  for (auto*& link : n.links) archive & link;
  archive & n.value;
}
}  // namespace boost::serialization

namespace {
using namespace graph_bench;

// Memory as a stream, without the copies of std::stringstream.
class memory_stream : public std::streambuf {
 public:
  void rewind() {
    char* const begin = bytes_.data();
    setp(begin, begin + bytes_.size());
  }
  void reread() {
    char* const begin = bytes_.data();
    setg(begin, begin, pptr());
  }

 protected:
  int_type overflow(int_type c) override {
    grow(1);
    *pptr() = static_cast<char>(c);
    pbump(1);
    return c;
  }
  std::streamsize xsputn(const char* from, std::streamsize n) override {
    if (epptr() - pptr() < n) grow(static_cast<std::size_t>(n));
    std::memcpy(pptr(), from, static_cast<std::size_t>(n));
    advance(static_cast<std::size_t>(n));
    return n;
  }
  std::streamsize xsgetn(char* to, std::streamsize n) override {
    const std::streamsize there = std::min<std::streamsize>(n, egptr() - gptr());
    std::memcpy(to, gptr(), static_cast<std::size_t>(there));
    setg(eback(), gptr() + there, egptr());
    return there;
  }

 private:
  void grow(std::size_t more) {
    const auto used = static_cast<std::size_t>(pptr() - pbase());
    bytes_.resize(std::max(2 * bytes_.size(), used + more));
    rewind();
    advance(used);
  }
  void advance(std::size_t n) {
    for (; n > INT32_MAX; n -= INT32_MAX) pbump(INT32_MAX);
    pbump(static_cast<int>(n));
  }
  std::vector<char> bytes_ = std::vector<char>(4096);
};

constexpr unsigned archive_flags = boost::archive::no_header;

template <class T>
void copy(const T& from, T& to, memory_stream& stream) {
  stream.rewind();
  {
    boost::archive::binary_oarchive out{stream, archive_flags};
    out << from;
  }
  stream.reread();
  boost::archive::binary_iarchive in{stream, archive_flags};
  in >> to;
}

// Of raw pointers; all objects that can be reached are deleted afterwards.
template <class T, class Each>
void discard(T* root, Each each) {
  std::vector<T*> all;
  std::unordered_set<T*> met;
  const auto reach = [&](T* p) {
    if (p != nullptr && met.insert(p).second) all.push_back(p);
  };
  reach(root);
  for (std::size_t i = 0; i < all.size(); ++i) each(*all[i], reach);
  for (T* p : all) delete p;
}

template <class T, class Walk, class Each>
void take_graph(const sampler& samples, const std::string& name, T* root, std::size_t n, Walk walk, Each each) {
  memory_stream stream;
  samples.take(name, static_cast<double>(n), walk, [&] {
    T* loaded = nullptr;
    const double ns = timed([&] { copy<T*>(root, loaded, stream); });
    discard(loaded, each);
    return ns;
  });
}

void take_form(const sampler& samples, const std::string& form, const std::string& name, std::size_t n) {
  memory_stream stream;
  if (form == "dlist" || form == "dlist_shuffled") {
    std::vector<list_node> nodes(n);
    list_node* const root = make_list(nodes.data(), n, form != "dlist");
    take_graph(samples, name, root, n, [=] { keep(walk(root)); }, [](list_node& at, auto reach) { reach(at.next); });
  } else if (form == "tree") {
    std::vector<tree_node> nodes(n);
    tree_node* const root = make_tree(nodes.data(), n);
    take_graph(
        samples, name, root, n, [=] { keep(walk(root)); },
        [](tree_node& at, auto reach) {
          reach(at.left);
          reach(at.right);
        });
  } else if (form == "random4") {
    std::vector<web_node> nodes(n);
    web_node* const root = make_web(nodes.data(), n);
    std::vector<web_node*> pending;
    take_graph(
        samples, name, root, n, [&] { keep(walk(root, pending)); },
        [](web_node& at, auto reach) {
          for (web_node* link : at.links) reach(link);
        });
  } else if (form == "ptr_array") {
    std::vector<leaf> leaves(n);
    std::vector<leaf*> pointers(n);
    for (std::size_t i = 0; i < n; ++i) pointers[i] = &leaves[i];
    samples.take(
        name, static_cast<double>(n), [&] { keep(walk(pointers.data(), n)); },
        [&] {
          std::vector<leaf*> loaded;
          const double ns = timed([&] { copy(pointers, loaded, stream); });
          for (leaf* each : loaded) delete each;
          return ns;
        });
  } else {
    const bool is_flat = form == "flat";
    const std::size_t bytes = is_flat ? n : n * sizeof(double);
    std::vector<char> data(bytes, 1);
    std::vector<char> warm(bytes);
    std::vector<double> numbers(is_flat ? 0 : n);
    samples.take(
        name, static_cast<double>(bytes), [&] { keep(std::memcpy(warm.data(), data.data(), bytes)); },
        [&] {
          std::vector<char> loaded;
          std::vector<double> loaded_numbers;
          return timed([&] { is_flat ? copy(data, loaded, stream) : copy(numbers, loaded_numbers, stream); });
        });
  }
}
}  // namespace

int main() { return run_rival("boost", take_form); }
