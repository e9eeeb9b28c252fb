// SPDX-License-Identifier: Apache-2.0

// Package enginetest gives the tests of layers their engine:
//
//	db := enginetest.Open(t) // empty, this test's own, gone when it ends
//
// The engine is the embedded one in memory. With -tags foundationdb it is the
// cluster that FDB_CLUSTER_FILE names; without that variable these tests fail. On a
// cluster each test works below a prefix of its own, which is cleared when the test
// ends, so the cluster may hold other data, and several packages may be tested at
// once.
package enginetest
