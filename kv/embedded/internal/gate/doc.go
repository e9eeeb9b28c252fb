// SPDX-License-Identifier: Apache-2.0

// Package gate lets closing wait for the goroutines that use what it closes.
package gate
