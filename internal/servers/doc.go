// SPDX-License-Identifier: Apache-2.0

// Package servers starts real servers for tests: Redis, PostgreSQL and MariaDB,
// on free ports of the loopback interface, with their data in a temporary folder.
//
//	url := servers.Postgres(t).NewDatabase(t)      // a database of the test's own, on a server that the test binary shares
//	s := servers.StartPostgres(t, "-c", "fsync=on") // a server of the test's own
//	s.Kill(t)                                      // as a crash does
//	s.Start(t)                                     // on the same data and port
//
// If a server is not installed, the test is skipped and says how to install it;
// with CI=true it fails.
//
// When the test binary ends its servers stop and their folders are removed, even if
// the binary is killed: on Linux the kernel ends the servers with the binary, and a
// shell that waits for the end of a pipe removes the folder.
package servers
