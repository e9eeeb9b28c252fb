// SPDX-License-Identifier: Apache-2.0

// Package process starts an example's program again, as processes that the example
// then kills, suspends and ends.
//
//	p, err := process.Start("a", []string{"WORKER=a"}, events) // its lines become events
//	err = p.Tell("resign")                                     // a line on its input
//	err = p.Kill()                                             // kill -9
//
// A process is expected to end when its input does, so that none is left behind when
// the example itself is killed.
package process
