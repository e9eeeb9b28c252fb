// SPDX-License-Identifier: Apache-2.0

package tags

// Fault is a fault at an offset of a tag's literal.
type Fault struct {
	Offset  int
	Message string
}
