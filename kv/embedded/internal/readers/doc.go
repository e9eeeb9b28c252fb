// SPDX-License-Identifier: Apache-2.0

// Package readers bounds how many goroutines wait for the disk at a time.
package readers
