import { useSuspenseQuery } from "@tanstack/react-query";
import { ChangePassword } from "../account/changePassword.tsx";
import { CloseAccount } from "../account/closeAccount.tsx";
import { ExportData } from "../account/exportData.tsx";
import { Profile } from "../account/profile.tsx";
import { Push } from "../account/push.tsx";
import { SecondFactor } from "../account/secondFactor.tsx";
import { Sessions } from "../account/sessions.tsx";
import { Told } from "../account/told.tsx";
import { meQuery } from "../api/queries.ts";
import { Page } from "../parts/page.tsx";

export function Account() {
  const { data: me } = useSuspenseQuery(meQuery);
  if (me === null) return null;
  return (
    <Page title="Account and security" width="narrow">
      <Profile me={me} />
      <ChangePassword />
      <SecondFactor me={me} />
      <Told me={me} />
      <Push me={me} />
      <Sessions />
      <ExportData />
      <CloseAccount me={me} />
    </Page>
  );
}
