// SPDX-License-Identifier: Apache-2.0

// Package tools has functions with facts that other packages see.
package tools

import (
	"os"
	"time"
)

func Deadline() time.Time { return time.Now().Add(time.Minute) }

func Elapsed(since time.Time) time.Duration { return time.Now().Sub(since) }

func Store(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }
