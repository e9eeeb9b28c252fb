// SPDX-License-Identifier: Apache-2.0

// Package fdbchaos has the tests that use a FoundationDB cluster while its processes are
// killed, stopped, excluded and changed, and compare what is stored afterwards with
// what was acknowledged. It has no code but tests, with -tags foundationdb; they start
// clusters of their own.
//
//	go test -tags foundationdb ./internal/fdbchaos                                # a few faults
//	KAZAHANA_FAULTS=200 go test -tags foundationdb -timeout 0 ./internal/fdbchaos # as make soak-fdb does
package fdbchaos
