// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "errors"

// CanPause tells whether the system can suspend a process by a signal.
const CanPause = false

// Pause fails with [errors.ErrUnsupported].
func (p *Process) Pause() error { return errors.ErrUnsupported }

// Resume fails with [errors.ErrUnsupported].
func (p *Process) Resume() error { return errors.ErrUnsupported }
