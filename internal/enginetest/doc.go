// SPDX-License-Identifier: Apache-2.0

// Package enginetest is where the tests of layers get their engine from:
//
//	db := enginetest.Open(t) // empty, this test's own, gone when it ends
//
// That is the embedded engine in memory. With -tags foundationdb it is the
// cluster that FDB_CLUSTER_FILE names; without that variable such tests fail.
// Each test works below a prefix of its own, which is cleared when the test ends,
// so the cluster may hold other data and the packages may be tested at once.
package enginetest
