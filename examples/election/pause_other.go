// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "errors"

// canPause tells whether the system can suspend a process by a signal.
const canPause = false

func (w *process) pause() error  { return errors.ErrUnsupported }
func (w *process) resume() error { return errors.ErrUnsupported }
