// SPDX-License-Identifier: Apache-2.0

// Package gate lets Close wait for the goroutines that still use an object.
package gate
