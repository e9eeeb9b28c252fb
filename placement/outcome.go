// SPDX-License-Identifier: Apache-2.0

package placement

// Outcome is what a step of a [Coordinator] has decided. Its slices are valid
// until the next call of the coordinator.
type Outcome struct {
	Resolution *Resolution // of the key that was resolved; nil: not known yet, see Request
	Request    RequestID   // what the resolve waits for, if there is no resolution yet
	Commands   []Command   // to be executed, in any order and at once
	Answers    []Answer    // of requests that have ended, each exactly once
	Events     []Event     // to be published, in this order
}

// Answer ends a request: it is for all resolves that the outcome told to wait for it.
type Answer struct {
	Request    RequestID
	Key        Key
	Resolution Resolution // if Err is nil
	Err        error
}
