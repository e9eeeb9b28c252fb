// SPDX-License-Identifier: Apache-2.0

// Package idchaos has the test that runs the ID service on each of its stores
// while processes are killed and stopped, and checks each ID that it gives. It has
// no code but tests.
//
//	go test ./internal/idchaos                                  # a few seconds for each store
//	KAZAHANA_CHAOS=10m go test -timeout 0 ./internal/idchaos -run TestChaos/postgres
package idchaos
