#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace mixnet::ep {

// Runs tasks one after the other, in the order in which they come: on the calling thread as long as
// everybody waits for their results, on a thread of its own once somebody does not. From any
// thread, but not from within a task.
class Worker {
 public:
  Worker() = default;
  ~Worker();  // after the last task
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Worker(Worker&&) = delete;
  Worker& operator=(Worker&&) = delete;

  template <typename Task>
  std::future<std::invoke_result_t<Task>> start(Task task) {
    auto packaged =
        std::make_shared<std::packaged_task<std::invoke_result_t<Task>()>>(std::move(task));
    auto result = packaged->get_future();
    enqueue([packaged] { (*packaged)(); });
    return result;
  }

  // Start and wait.
  template <typename Task>
  std::invoke_result_t<Task> run(Task task) {
    if (const Turn turn(*this); turn.taken()) {
      return task();
    }
    return start(std::move(task)).get();
  }

 private:
  // Of the calling thread, if nobody else is at work.
  class Turn {
   public:
    explicit Turn(Worker& worker) : worker_(worker), taken_(worker.take_turn()) {}
    ~Turn() {
      if (taken_) {
        worker_.end_turn();
      }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn(Turn&&) = delete;
    Turn& operator=(Turn&&) = delete;

    bool taken() const { return taken_; }

   private:
    Worker& worker_;
    bool taken_;
  };

  bool take_turn();
  void end_turn();
  void enqueue(std::function<void()> task);
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  bool busy_ = false;                        // guarded by mutex_
  bool ending_ = false;                      // guarded by mutex_
  std::thread thread_;  // none until the first start(); guarded by mutex_ until the end
};

}  // namespace mixnet::ep
