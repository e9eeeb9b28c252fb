// SPDX-License-Identifier: Apache-2.0

// Package commitlog is the log that makes commits durable: one frame for each
// version, in segments (see [Log]). The log has every commit that the base may not
// have on the disk.
//
// It promises to the packages above:
//
//   - Once [Log.Append] of a log that is not lazy, or [Log.Sync], has returned nil, a
//     crash loses none of the frames before it.
//   - [Read] gives every mutation of the frames that are on the disk, in the order
//     of versions. It cuts off what a crash has left of the last frame. Damage
//     anywhere else is a [fault.CorruptError]. Read writes nothing.
//   - After the first error of a write or a sync the log goes no further: each later
//     call returns that error.
//   - [Log.Drop] removes segments whole, the oldest first, and none while the log is
//     pinned ([Log.Pin]).
//
// A caller reads a log, starts it, and closes it. The methods are safe for
// concurrent use, but for Start and Close. The caller appends versions in ascending
// order.
package commitlog
