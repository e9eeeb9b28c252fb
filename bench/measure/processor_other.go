// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package measure

import "time"

// ProcessorTime returns 0: this system does not count it in a way that is known here.
func ProcessorTime() time.Duration { return 0 }
