import { Link } from "@tanstack/react-router";
import { Tabs, tabProps } from "./tabs.tsx";

/** What people need who let programs act for them. */
export function DeveloperTabs() {
  return (
    <Tabs label="Developers">
      <Link {...tabProps} to="/keys">
        API keys
      </Link>
      <Link {...tabProps} to="/approvals">
        Approvals
      </Link>
      <Link {...tabProps} to="/webhooks">
        Webhooks
      </Link>
    </Tabs>
  );
}
