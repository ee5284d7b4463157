#include "ep/worker.h"

namespace mixnet::ep {

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool Worker::take_turn() {
  const std::lock_guard lock(mutex_);
  if (busy_ || !tasks_.empty()) {
    return false;
  }
  busy_ = true;
  return true;
}

void Worker::end_turn() {
  {
    const std::lock_guard lock(mutex_);
    busy_ = false;
  }
  changed_.notify_one();
}

void Worker::enqueue(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { work(); });
    }
  }
  changed_.notify_one();
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !busy_ && (ending_ || !tasks_.empty()); });
    if (tasks_.empty()) {
      return;
    }
    {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      task();
    }
    lock.lock();
    busy_ = false;
  }
}

}  // namespace mixnet::ep
