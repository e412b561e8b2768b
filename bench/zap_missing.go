//go:build without_zap

package main

func zapOff(shape) subject { return subject{name: "zap", skip: notFetched("go.uber.org/zap")} }
