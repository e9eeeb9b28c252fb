// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"cmp"
	"strconv"
	"time"
)

// ID is a kazahana ID: 64 bits that sort by the time of their making.
//
//	1 bit    reserve    always 0, so that an ID is never negative
//	41 bits  timestamp  milliseconds since the epoch 2026-01-01T00:00:00Z
//	14 bits  machine    0–8191 leased; 8192–16383 fallback (top bit set)
//	8 bits   sequence   position within the millisecond
//
// The methods that take an ID apart ([ID.Time], [ID.MachineID], [ID.Sequence],
// [ID.IsFallback]) read these bits, the ones of [DefaultLayout]; for IDs of
// another layout use the methods of [Layout]. The zero ID means "none yet" and
// is never generated.
//
// As text, in JSON and as a JSON object key an ID is a decimal string: IDs pass
// 2^53, where JavaScript numbers stop being exact, 25 days after the epoch. In
// SQL it is a 64-bit integer.
//
// An ID is a plain value: copy it, compare it with == and <, use it as a map key.
type ID int64

// String returns the ID as a decimal number, for example "211469771380744768".
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// IsZero reports whether the ID is zero, which stands for "none yet".
func (id ID) IsZero() bool { return id == 0 }

// Compare returns -1, 0 or +1 as id is less than, equal to or greater than
// other. For IDs of one generator that is the order of their making.
func (id ID) Compare(other ID) int { return cmp.Compare(id, other) }

// Time returns the moment, in UTC with millisecond precision, that the ID
// carries under the default layout.
func (id ID) Time() time.Time { return defaultLayout.Time(id) }

// MachineID returns the machine bits under the default layout: 0–8191 for a
// leased machine, 8192–16383 for a fallback ID. In a random fallback ID
// ([ID.IsFallback] without a lease) they identify no machine.
func (id ID) MachineID() int { return defaultLayout.MachineID(id) }

// Sequence returns the sequence bits, 0–255, under the default layout. In a
// random fallback ID they are the low bits of the random position.
func (id ID) Sequence() int { return defaultLayout.Sequence(id) }

// IsFallback reports whether the ID was made without a valid lease: the top
// machine bit is set. Fallback IDs and leased IDs are never equal. Every ID of
// a standalone generator is a fallback ID.
func (id ID) IsFallback() bool { return defaultLayout.IsFallback(id) }
