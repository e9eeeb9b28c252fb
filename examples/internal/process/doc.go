// SPDX-License-Identifier: Apache-2.0

// Package process starts an example's program again, as processes that the example
// then kills, suspends and ends.
//
//	p, err := process.Start("a", []string{"WORKER=a"}, events) // its lines become events
//	err = p.Tell("resign")                                     // a line on its input
//	err = p.Kill()                                             // kill -9
//
// A process must end when its input ends, so that none is left behind if the
// example itself is killed.
package process
