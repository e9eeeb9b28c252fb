// SPDX-License-Identifier: Apache-2.0

// Package hosttest is for tests of programs with a [host.Host] and of transports: a
// [Network] within a process, whose connections a test can cut, and [RunTransport],
// which checks an implementation of [host.Transport].
//
//	network := hosttest.NewNetwork()
//	h, err := host.New(db, host.Options{Name: "bank-1", Transport: network.Listen("bank-1")})
package hosttest
