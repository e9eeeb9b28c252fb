// SPDX-License-Identifier: Apache-2.0

// Package driver executes what a [placement.Coordinator] decides.
package driver
