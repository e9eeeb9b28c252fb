// SPDX-License-Identifier: Apache-2.0

package placement

// RequestID correlates the commands of a [Coordinator] with their results. It
// counts from 1 in each coordinator, so that together with the owner, whose
// incarnation is never used again, it names a request for ever: homes keep the
// pair to recognise a claim that is repeated after an unknown outcome.
type RequestID uint64
