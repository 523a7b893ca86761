package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/debugserver"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/region"
	"digitalocean-cloud-controller-manager/internal/state"
)

const (
	// startTimeout is how long the start waits for the API before it goes on
	// without.
	startTimeout = 10 * time.Second
	// startRetry is how often the API is asked again afterwards.
	startRetry = 10 * time.Second
	// identifyInterval is how often the account is asked for at least, which a
	// token may have no right to read.
	identifyInterval = 10 * time.Minute
	// healthHolds is how long an answer to /healthz stands: two calls a minute
	// at most, whatever the rate of probes.
	healthHolds = 30 * time.Second
)

// findRegion settles in which region load balancers are made.
func (c *Cloud) findRegion(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	c.region = c.config.Region
	if c.region == "" {
		slug, err := region.FromMetadata(ctx, c.config.MetadataURL)
		if err != nil {
			return fmt.Errorf("%s is not set, and the droplet's metadata service can't be asked for the region: %w", config.EnvRegion, err)
		}
		logger.Info("Read the region from the droplet's metadata service", "region", slug)
		c.region = slug
	}
	err := c.checkRegion(ctx)
	if err == nil {
		return nil
	}
	if isUnknownRegion(err) {
		return err
	}
	logger.Error(nil, "Started without DigitalOcean's API: not ready, asking again", "reason", doapi.Message(err), "class", doapi.Classify(err))
	go c.retryRegion(ctx)
	return nil
}

func (c *Cloud) checkRegion(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(doapi.WithPriority(ctx, doapi.Urgent), startTimeout)
	defer cancel()
	if err := region.Check(ctx, c.client.Regions, c.region); err != nil {
		if isUnknownRegion(err) {
			return fmt.Errorf("%s: %w", config.EnvRegion, err)
		}
		return err
	}
	c.started.Store(true)
	return nil
}

func isUnknownRegion(err error) bool {
	var unknown *region.UnknownError
	return errors.As(err, &unknown)
}

// retryRegion asks until the API answers.
func (c *Cloud) retryRegion(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.clock.After(startRetry):
		}
		switch err := c.checkRegion(ctx); {
		case err == nil:
			logger.Info("DigitalOcean's API answers: ready", "region", c.region)
			return
		case isUnknownRegion(err):
			logger.Error(err, "Can't go on")
			klog.FlushAndExit(klog.ExitFlushTimeout, 1)
		}
	}
}

// identify notes whose the token is, now and again, as it may be replaced, until
// the context ends.
func (c *Cloud) identify(ctx context.Context, droplets *inventory.Droplets) {
	wait := startRetry
	for {
		asking, cancel := context.WithTimeout(ctx, startTimeout)
		settled, err := droplets.Identify(asking)
		cancel()
		pause := wait
		if wait = min(2*wait, identifyInterval); err == nil && settled {
			pause, wait = identifyInterval, startRetry
		}
		timer := c.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// serve starts the listeners that are configured.
func (c *Cloud) serve(ctx context.Context) error {
	if address := c.config.MetricsAddress; address != "" {
		mux := http.NewServeMux()
		mux.Handle("/metrics", legacyregistry.Handler())
		if _, err := debugserver.Serve(ctx, "metrics", address, mux); err != nil {
			return fmt.Errorf("%s: %w", config.EnvMetricsAddr, err)
		}
	}
	if address := c.config.DebugAddress; address != "" {
		mux := http.NewServeMux()
		mux.Handle("/healthz", debugserver.Handler(debugserver.Remember(c.healthy, healthHolds, c.clock)))
		mux.Handle("/readyz", debugserver.Handler(c.ready))
		mux.Handle("/debug/state", state.Handler(c.report))
		if _, err := debugserver.Serve(ctx, "debug", address, mux); err != nil {
			return fmt.Errorf("%s: %w", config.EnvDebugAddr, err)
		}
	}
	return nil
}

// healthy asks the API, as the public manager's /healthz does.
func (c *Cloud) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, _, err := c.client.Account.Get(ctx); err != nil {
		return errors.New("DigitalOcean's API: " + doapi.Message(err))
	}
	return nil
}

// ready tells from the latest answers whether the API can be used; it makes no
// call.
func (c *Cloud) ready(context.Context) error {
	if health := c.client.Health(); !health.Checked.IsZero() && !health.OK {
		return errors.New("DigitalOcean's API: " + health.Message)
	}
	if !c.started.Load() {
		return errNotStarted
	}
	return nil
}
