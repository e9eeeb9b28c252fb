// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import "syscall"

// CanPause tells whether the system can suspend a process by a signal.
const CanPause = true

// Pause suspends the process: SIGSTOP.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on: SIGCONT.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
