// SPDX-License-Identifier: Apache-2.0

package tags

// Field numbers, as protobuf limits them.
const (
	IDNumber        = 1
	MaxNumber       = 1<<29 - 1
	ReservedNumbers = 19000 // to 19999: protobuf's own
)
