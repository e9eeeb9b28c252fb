// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import "syscall"

// canPause tells whether the system can suspend a process by a signal.
const canPause = true

// pause suspends the worker.
func (w *process) pause() error { return w.cmd.Process.Signal(syscall.SIGSTOP) }

// resume lets it go on.
func (w *process) resume() error { return w.cmd.Process.Signal(syscall.SIGCONT) }
